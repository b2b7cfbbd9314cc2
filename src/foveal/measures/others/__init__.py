"""Measures of other tools under names of their own, to the digit, so that scores can be compared.

Where a measure misleads, its declaration says why (`Measure.unsound`).
"""
