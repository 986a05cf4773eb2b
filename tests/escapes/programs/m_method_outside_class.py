def __init__(self):
    pass
return 1
