package org.rdmapanama.device;

import org.rdmapanama.address.AddressVector;
import org.rdmapanama.ffm.verbs.rdma_h;
import org.rdmapanama.internal.Codes;

/** The maximum rate of a path, {@code enum ibv_rate}; see {@link AddressVector} and ibv_rate_to_mbps(3). */
public enum Rate {
    /** No limit: the rate of the port. */
    MAX(rdma_h.IBV_RATE_MAX(), -1, -1),
    /** 2.5 Gb/s. */
    GBPS_2_5(rdma_h.IBV_RATE_2_5_GBPS(), 1, 2500),
    /** 5 Gb/s. */
    GBPS_5(rdma_h.IBV_RATE_5_GBPS(), 2, 5000),
    /** 10 Gb/s. */
    GBPS_10(rdma_h.IBV_RATE_10_GBPS(), 4, 10000),
    /** 14 Gb/s: 1x FDR. */
    GBPS_14(rdma_h.IBV_RATE_14_GBPS(), -1, 14062),
    /** 20 Gb/s. */
    GBPS_20(rdma_h.IBV_RATE_20_GBPS(), 8, 20000),
    /** 25 Gb/s: 1x EDR. */
    GBPS_25(rdma_h.IBV_RATE_25_GBPS(), -1, 25781),
    /** 28 Gb/s: 2x FDR. */
    GBPS_28(rdma_h.IBV_RATE_28_GBPS(), 11, 28125),
    /** 30 Gb/s. */
    GBPS_30(rdma_h.IBV_RATE_30_GBPS(), 12, 30000),
    /** 40 Gb/s. */
    GBPS_40(rdma_h.IBV_RATE_40_GBPS(), 16, 40000),
    /** 50 Gb/s: 1x HDR. */
    GBPS_50(rdma_h.IBV_RATE_50_GBPS(), 20, 53125),
    /** 56 Gb/s: 4x FDR. */
    GBPS_56(rdma_h.IBV_RATE_56_GBPS(), -1, 56250),
    /** 60 Gb/s. */
    GBPS_60(rdma_h.IBV_RATE_60_GBPS(), 24, 60000),
    /** 80 Gb/s. */
    GBPS_80(rdma_h.IBV_RATE_80_GBPS(), 32, 80000),
    /** 100 Gb/s: 4x EDR. */
    GBPS_100(rdma_h.IBV_RATE_100_GBPS(), -1, 103125),
    /** 112 Gb/s: 8x FDR. */
    GBPS_112(rdma_h.IBV_RATE_112_GBPS(), -1, 112500),
    /** 120 Gb/s. */
    GBPS_120(rdma_h.IBV_RATE_120_GBPS(), 48, 120000),
    /** 168 Gb/s: 12x FDR. */
    GBPS_168(rdma_h.IBV_RATE_168_GBPS(), -1, 168750),
    /** 200 Gb/s: 8x EDR. */
    GBPS_200(rdma_h.IBV_RATE_200_GBPS(), -1, 206250),
    /** 300 Gb/s: 12x EDR. */
    GBPS_300(rdma_h.IBV_RATE_300_GBPS(), -1, 309375),
    /** 400 Gb/s: 8x HDR. */
    GBPS_400(rdma_h.IBV_RATE_400_GBPS(), 160, 425000),
    /** 600 Gb/s: 12x HDR. */
    GBPS_600(rdma_h.IBV_RATE_600_GBPS(), 240, 637500),
    /** 800 Gb/s: 8x NDR. */
    GBPS_800(rdma_h.IBV_RATE_800_GBPS(), 320, 850000),
    /** 1200 Gb/s: 12x NDR. */
    GBPS_1200(rdma_h.IBV_RATE_1200_GBPS(), 480, 1275000);

    private static final Rate[] VALUES = values();

    private final int code;
    private final int multiplier;
    private final int megabitsPerSecond;

    Rate(int code, int multiplier, int megabitsPerSecond) {
        this.code = code;
        this.multiplier = multiplier;
        this.megabitsPerSecond = megabitsPerSecond;
    }

    /** {@return the value of this constant in {@code verbs.h}} */
    public int code() {
        return code;
    }

    /**
     * Returns this rate as a multiple of 2.5 Gb/s.
     *
     * @return the factor, or -1 for MAX and for rates without a factor in C: those of FDR and EDR links except 28 Gb/s
     * @verb ibv_rate_to_mult
     */
    public int multiplier() {
        return multiplier;
    }

    /**
     * Returns the signaling rate, which is up to 6 percent above the nominal rate for newer links.
     *
     * @return the rate in megabits per second, rounded down, or -1 for MAX
     * @verb ibv_rate_to_mbps
     */
    public int megabitsPerSecond() {
        return megabitsPerSecond;
    }

    /**
     * Returns the constant with a value in C.
     *
     * @param code the value in {@code verbs.h}
     * @return the constant, or MAX if there is none
     */
    public static Rate of(int code) {
        return Codes.find(VALUES, Rate::code, code, MAX);
    }

    /**
     * Returns the rate that is a multiple of 2.5 Gb/s.
     *
     * @param multiplier the factor
     * @return the rate, MAX if there is none
     * @verb mult_to_ibv_rate
     */
    public static Rate ofMultiplier(int multiplier) {
        for (Rate value : VALUES) {
            if (value.multiplier == multiplier) {
                return value;
            }
        }
        return MAX;
    }

    /**
     * Returns the rate with a number of {@link #megabitsPerSecond()}.
     *
     * @param megabitsPerSecond a number that {@link #megabitsPerSecond()} returns
     * @return the rate, MAX if there is none
     * @verb mbps_to_ibv_rate
     */
    public static Rate ofMegabitsPerSecond(int megabitsPerSecond) {
        for (Rate value : VALUES) {
            if (value.megabitsPerSecond == megabitsPerSecond) {
                return value;
            }
        }
        return MAX;
    }
}
