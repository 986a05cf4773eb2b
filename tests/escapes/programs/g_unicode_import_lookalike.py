import ｏｓ
return str(ｏｓ.environ)
