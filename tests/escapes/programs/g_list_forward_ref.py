from typing import List
x = List['1 + 1']
return str(x._determine_new_args(()))
