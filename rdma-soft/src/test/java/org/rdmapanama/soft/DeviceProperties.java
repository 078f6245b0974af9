package org.rdmapanama.soft;

import java.util.function.Supplier;

/** Settings of soft0, which it reads when it is opened. */
final class DeviceProperties {
    private DeviceProperties() {}

    /** Opens something while these hold: names, without their common beginning, and values. */
    static <T> T with(String[] settings, Supplier<T> opening) {
        for (int i = 0; i < settings.length; i += 2) {
            System.setProperty("org.rdmapanama.soft." + settings[i], settings[i + 1]);
        }
        try {
            return opening.get();
        } finally {
            for (int i = 0; i < settings.length; i += 2) {
                System.clearProperty("org.rdmapanama.soft." + settings[i]);
            }
        }
    }
}
