package org.rdmapanama.samples.today;

import java.util.regex.Pattern;

/**
 * The places that data passes from the sender's disk or memory to the receiver's memory, with an arrow for each copy. This
 * is stated, not measured: it holds for two hosts with network cards, and for cards that gather what they send.
 *
 * @param drawing the places and arrows
 */
public record CopyPath(String drawing) {
    private static final Pattern CPU = Pattern.compile("─CPU▶");
    private static final Pattern DMA = Pattern.compile("═DMA▶");

    /**
     * Returns the number of copies by a processor.
     *
     * @return the number
     */
    public int byCpu() {
        return (int) CPU.matcher(drawing).results().count();
    }

    /**
     * Returns the number of copies by a device.
     *
     * @return the number
     */
    public int byDma() {
        return (int) DMA.matcher(drawing).results().count();
    }
}
