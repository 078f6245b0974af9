package org.rdmapanama.soft;

import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;

/** Where the device of the other side may be; one place as soon as it is known. */
final class CmCandidates {
    private List<InetSocketAddress> places = List.of();
    private int current;
    private boolean refused;

    /** With whether this device, which is at one more place, does not serve what is asked for. */
    void set(List<InetSocketAddress> newPlaces, boolean refusedHere) {
        places = new ArrayList<>(newPlaces);
        current = 0;
        refused = refusedHere;
    }

    /** From now on it is this one. */
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

    /** The one that is asked at the moment. */
    InetSocketAddress current() {
        return places.get(current);
    }

    boolean contains(InetSocketAddress place) {
        return places.contains(place);
    }

    /** Whether at least one device of this machine said that it is not meant. */
    boolean isRefused() {
        return refused;
    }

    void next() {
        current = (current + 1) % places.size();
    }

    /** One of several is not meant; whether another one is to be asked now. */
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
