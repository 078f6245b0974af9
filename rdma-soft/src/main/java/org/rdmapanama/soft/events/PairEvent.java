package org.rdmapanama.soft.events;

import java.net.InetSocketAddress;
import jdk.jfr.Event;
import jdk.jfr.Label;

/** An event of a queue pair of soft0 that is connected to another one. */
abstract class PairEvent extends Event {
    @Label("Queue Pair")
    String queuePair;

    @Label("Peer's Queue Pair")
    String destination;

    @Label("Peer")
    String peer;

    /** Notes the numbers of both queue pairs, and where the other one is: null for this device. */
    final void between(int number, int peersNumber, InetSocketAddress address) {
        queuePair = "0x%06x".formatted(number);
        destination = "0x%06x".formatted(peersNumber);
        peer = Peers.text(address);
    }
}
