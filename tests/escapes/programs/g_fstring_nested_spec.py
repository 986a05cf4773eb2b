return f'{1:{(lambda: 0).__code__}}'
