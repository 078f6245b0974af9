package org.rdmapanama.device;

import org.rdmapanama.Context;

/**
 * A reading of the clock that a device uses for the timestamps of completions, {@code struct ibv_values_ex}; see
 * ibv_query_rt_values_ex(3) and {@link Context#realTimeClock()}.
 *
 * @param seconds the value of {@code tv_sec} as the driver sets it
 * @param nanoseconds the value of {@code tv_nsec} as the driver sets it; it may be 1,000,000,000 or more if it is a
 *     counter
 */
public record RawClock(long seconds, long nanoseconds) {
    /**
     * Returns the counter of the device, in the unit of {@link DeviceAttributes#coreClockKilohertz()}. The drivers with
     * such a clock, mlx4 and mlx5, put the whole counter into the nanoseconds and leave the seconds 0.
     *
     * @return the ticks, unsigned; apply {@link DeviceAttributes#completionTimestampMask()} before comparing them
     * @throws IllegalStateException when the driver sets the seconds, so that this is a time and not a counter
     */
    public long ticks() {
        if (seconds != 0) {
            throw new IllegalStateException(this + " is a time, not a counter; use its seconds and nanoseconds");
        }
        return nanoseconds;
    }
}
