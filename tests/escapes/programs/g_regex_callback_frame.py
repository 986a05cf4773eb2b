import re
def walk(match):
    try:
        raise ValueError
    except ValueError as error:
        return str(error.__traceback__.tb_frame.f_back)
return re.sub("a", walk, "a")
