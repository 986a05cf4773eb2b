import typing
class A:
    x: '[].append(1) or 5'
return str(typing.get_type_hints(A))
