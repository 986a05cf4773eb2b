alias = type(list[int])(print, ())
return alias.hidden if hasattr(alias, "hidden") else "an alias that has every attribute of print"
