package org.rdmapanama.samples.learn;

/** A network between A and B of {@code LossAndMarking}, which the fault injection of soft0 makes. */
enum NetworkCase {
    LOSSLESS("no loss", "seed=1", false),
    ONE_IN_THOUSAND("0.1 % loss", "loss=0.001,seed=1", false),
    ONE_IN_HUNDRED("1 % loss", "loss=0.01,seed=1", false),
    FIVE_IN_HUNDRED("5 % loss", "loss=0.05,seed=1", false),
    DROPS("a slow link, its queue drops", NetworkCase.SLOW_LINK, false),
    MARKS("a slow link, its queue marks", NetworkCase.SLOW_LINK, true);

    /** The rate of the slow link, in MiB/s. */
    static final int LINK_RATE = 40;

    private static final String SLOW_LINK = "rate=40,queue=128,kmin=16,kmax=64,pmax=0.1,seed=1";

    private final String title;
    private final String faults;
    private final boolean reacts;

    NetworkCase(String title, String faults, boolean reacts) {
        this.title = title;
        this.faults = faults;
        this.reacts = reacts;
    }

    String title() {
        return title;
    }

    /** Returns the faults that the device of A injects. */
    String faults() {
        return faults;
    }

    /** Returns how the device of A reacts to marks. */
    String congestion() {
        return reacts ? "dcqcn,line=100" : "none";
    }

    boolean isSlowLink() {
        return faults.equals(SLOW_LINK);
    }
}
