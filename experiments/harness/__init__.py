"""The machinery that experiments share.

==================  ================================================================================
``discovery``       an experiment is a folder; its question is its package's docstring
``tables``          results.csv and curves.csv as tidy pandas frames
``provenance``      the command, code and machine behind the tables
``statistics``      Student-t and Wilson intervals over seeds
``figures``         intervals and words that figures share
``claims``          a claim as a row: a sentence, and a test on results
``exercises``       answers in the notebooks, graded by claims
``sequential``      bets that may be checked after every seed
``judging``         verdicts on claims, corrected for their number
``names``           names of settings, made from their factors
``seeds``           measure seed by seed, and write the three tables
``sweep``           train studies, and write the three tables
``studies``         runs of many seeds, on all cores of a CPU or together on an accelerator
``kept``            finished runs of a study that was killed
``joined``          tables of several runs joined into one
``report``          tables, verdicts and report.md for readers
==================  ================================================================================
"""
