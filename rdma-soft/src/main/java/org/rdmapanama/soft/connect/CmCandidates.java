package org.rdmapanama.soft.connect;

import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;

/**
 * The sockets at which the device of the peer may be: one on another machine, possibly several on this one, where every
 * process has its own {@code soft0} at its own port. {@link CmExchange} asks one after the other until one answers.
 * Callers must hold the lock of the device.
 */
final class CmCandidates {
    private List<InetSocketAddress> places = List.of();
    private int current;
    private boolean refused;

    /** Sets the candidates, and whether this device, which is not among them, has already refused. */
    void set(List<InetSocketAddress> newPlaces, boolean refusedHere) {
        places = new ArrayList<>(newPlaces);
        current = 0;
        refused = refusedHere;
    }

    /** Reduces the candidates to the one that answered. */
    void settle(InetSocketAddress place) {
        places = List.of(place);
        current = 0;
        refused = false;
    }

    boolean isEmpty() {
        return places.isEmpty();
    }

    boolean areSeveral() {
        return places.size() > 1;
    }

    List<InetSocketAddress> all() {
        return places;
    }

    /** Returns the candidate that is being asked. */
    InetSocketAddress current() {
        return places.get(current);
    }

    /** Returns whether the peer is known to be at a socket. */
    boolean isAt(InetSocketAddress place) {
        return places.size() == 1 && places.getFirst().equals(place);
    }

    boolean contains(InetSocketAddress place) {
        return places.contains(place);
    }

    /** Returns whether at least one device of this machine has refused the request. */
    boolean isRefused() {
        return refused;
    }

    /** Moves on to the next candidate, in turn. */
    void next() {
        current = (current + 1) % places.size();
    }

    /** Removes a candidate that refused. Returns true if it was the current one, so that the next must be asked now. */
    boolean leaveOut(InetSocketAddress place) {
        refused = true;
        int index = places.indexOf(place);
        boolean asked = index == current;
        places.remove(place);
        if (index < current) {
            current--;
        }
        current %= places.size();
        return asked;
    }
}
