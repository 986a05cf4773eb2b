return {'rows': [{'score': float('nan')}]}
