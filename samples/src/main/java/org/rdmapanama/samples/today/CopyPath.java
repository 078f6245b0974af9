package org.rdmapanama.samples.today;

import java.util.ArrayList;
import java.util.List;

/**
 * The places that data passes from the sender's disk or memory to the receiver's memory, and what takes it to each. This is
 * stated, not measured: it holds for two hosts with network cards, and for cards that gather what they send.
 *
 * @param start the first place
 * @param steps how the data gets to the others
 */
public record CopyPath(String start, List<Step> steps) {
    private static final String CARD = "card";
    private static final String MEMORY = "memory";
    private static final String SOCKET_BUFFERS = "socket buffers";

    /** What takes data from one place to the next. */
    public enum Mover {
        /** A processor, which copies it. */
        CPU("─CPU▶"),
        /** A device, which copies it from or to memory. */
        DMA("═DMA▶"),
        /** The network. */
        NETWORK("┈");

        private final String arrow;

        Mover(String arrow) {
            this.arrow = arrow;
        }
    }

    /**
     * A step of the way.
     *
     * @param by what takes the data
     * @param to the place
     */
    public record Step(Mover by, String to) {}

    /** Begins a way. */
    static CopyPath from(String place) {
        return new CopyPath(place, List.of());
    }

    private CopyPath then(Mover by, String to) {
        List<Step> more = new ArrayList<>(steps);
        more.add(new Step(by, to));
        return new CopyPath(start, List.copyOf(more));
    }

    CopyPath cpu(String to) {
        return then(Mover.CPU, to);
    }

    CopyPath dma(String to) {
        return then(Mover.DMA, to);
    }

    /** Adds the rest of the way of data that was written to a socket, or goes there from a file. */
    CopyPath tcp() {
        return overNetwork().dma(SOCKET_BUFFERS).cpu(MEMORY);
    }

    /** The same after a copy to the socket's buffers. */
    CopyPath socket() {
        return cpu(SOCKET_BUFFERS).tcp();
    }

    /** Adds the rest of the way of data that an RDMA WRITE takes. */
    CopyPath rdma() {
        return overNetwork().dma(MEMORY);
    }

    private CopyPath overNetwork() {
        return dma(CARD).then(Mover.NETWORK, CARD);
    }

    /**
     * Returns the way as text.
     *
     * @return places with arrows between them
     */
    public String drawing() {
        StringBuilder text = new StringBuilder(start);
        for (Step step : steps) {
            text.append(' ').append(step.by.arrow).append(' ').append(step.to);
        }
        return text.toString();
    }

    /**
     * Returns the number of copies by a processor.
     *
     * @return the number
     */
    public int byCpu() {
        return count(Mover.CPU);
    }

    /**
     * Returns the number of copies by a device.
     *
     * @return the number
     */
    public int byDma() {
        return count(Mover.DMA);
    }

    private int count(Mover mover) {
        return (int) steps.stream().filter(step -> step.by == mover).count();
    }
}
