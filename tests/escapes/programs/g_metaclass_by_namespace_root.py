class Made(agents):
    pass
return Made
