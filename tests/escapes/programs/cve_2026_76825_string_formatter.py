from string import Formatter
return Formatter().format('{0.__class__}', 1)
