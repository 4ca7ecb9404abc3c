"""Where does next-token prediction take self-attention's weights, and does the optimizer matter?

Li, Huang, Ildiz, Rawat, Oymak 2024.
"""
