"""`pi.*`: files and shell in the host's working directory, with the argument shapes of Pi's own tools.

`confined.py` opens paths below the project and nowhere else; `files.py` read, write, ls; `editing.py` the pure rules of
an edit; `searching.py` grep and find, in a process of their own (`search_worker.py`); `shell.py` bash; `actions.py` all
of them as actions.
"""
