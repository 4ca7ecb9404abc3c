"""Does a bounded margin keep a linear model from the shortcut?

Puli, Zhang, Wald, Ranganath 2023, the linear perception task.
"""
