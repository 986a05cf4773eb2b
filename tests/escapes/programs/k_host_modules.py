import sys
found = [m for m in sys.modules if m.split('.')[0] in ('trio', 'host_bridge', 'runtime', 'child_agents')]
if not found:
    raise RuntimeError('nothing of the host is loaded')
result = found
