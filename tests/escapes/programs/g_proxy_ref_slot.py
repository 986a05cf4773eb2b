return tools.__ref__
