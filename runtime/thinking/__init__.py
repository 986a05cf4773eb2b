"""Thinking control on a session: `override.py` decides, `controller.py` does, `actions.py` is what programs call."""
