"""Thin adapters between the mask core and TensorFlow: one hook, one state per weight, and what each API does its own way."""
