"""Does more time let an E-loss find the arm, as it lets objectives that read ahead?

Yang, Puli, Ranganath 2025, Table 1, after el_path_star.
"""
