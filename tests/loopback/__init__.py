"""Servers on the loopback interface that stand for services on the network."""
