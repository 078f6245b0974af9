package org.rdmapanama;

/**
 * Reading of the clock that a device stamps completions with, {@code struct ibv_values_ex}; see
 * ibv_query_rt_values_ex(3) and {@link Context#realTimeClock()}.
 *
 * @param seconds as the driver fills {@code tv_sec}
 * @param nanoseconds as the driver fills {@code tv_nsec}; not below 1,000,000,000 where it holds a counter
 */
public record RawClock(long seconds, long nanoseconds) {
    /**
     * The counter of the device, in the unit of {@link DeviceAttributes#coreClockKilohertz()}. The drivers with such a
     * clock, mlx4 and mlx5, keep the whole counter where the nanoseconds would be, and leave the seconds 0.
     *
     * @return ticks, unsigned; compare them with {@link DeviceAttributes#completionTimestampMask()} applied
     * @throws IllegalStateException when the driver tells seconds: then this is a time, not a counter
     */
    public long ticks() {
        if (seconds != 0) {
            throw new IllegalStateException("this is a time, not a counter: use seconds and nanoseconds of " + this);
        }
        return nanoseconds;
    }
}
