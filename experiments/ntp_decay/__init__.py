"""Where do optimizers with decoupled weight decay go when several tokens follow?

For sign descent it is the Frank-Wolfe method in the ball of the max norm.
"""
