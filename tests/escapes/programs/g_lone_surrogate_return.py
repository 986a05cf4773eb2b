return '\ud800'
