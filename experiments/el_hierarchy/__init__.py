"""Do the losses and optimizers that copy from few strings learn a hierarchy from few sentences?

Cagnetta, Petrini, Tomasini, Favero, Wyart 2024; methods of el_methods.
"""

SCALES = ("smoke", "pilot", "cpu")
