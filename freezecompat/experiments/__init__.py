"""Experiments that come with freezecompat, for `freezecompat parity NAME`.

Each is an experiment file like one of your own: `freezecompat.parity` says what it defines.
"""
