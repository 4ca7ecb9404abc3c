"""Do equal-learning losses change how a graph is stored: as a map, or as a lookup?

Noroozizadeh, Nagarajan, Rosenfeld, Kumar 2025, under the losses of Yang, Puli, Ranganath 2025.
"""
