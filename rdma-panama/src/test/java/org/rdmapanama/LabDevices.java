package org.rdmapanama;

import static org.junit.jupiter.api.Assertions.fail;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

/**
 * The devices that the lab tests use: the lab's two Soft-RoCE devices, or, when the environment variable RDMA_DEVICE
 * names one, that one for both sides, with the GID of RDMA_GID_INDEX.
 */
final class LabDevices {
    private static final String CHOSEN = environment("RDMA_DEVICE");
    private static final String CHOSEN_GID = environment("RDMA_GID_INDEX");

    private LabDevices() {}

    private static String environment(String name) {
        String value = System.getenv(name);
        return value == null || value.isBlank() ? null : value;
    }

    /** Whether these are the lab's own devices, of which the tests know everything. */
    static boolean areSoftRoce() {
        return CHOSEN == null;
    }

    /** Fails the test when the device is not there. */
    static Device first() {
        return DeviceList.query().byName(areSoftRoce() ? "rxe0" : CHOSEN);
    }

    /** Fails the test when the device is not there. */
    static Device second() {
        return DeviceList.query().byName(areSoftRoce() ? "rxe1" : CHOSEN);
    }

    /** How queue pairs of these devices connect: quick to notice a dead peer, because tests wait for it. */
    static ConnectOptions connectOptions() {
        ConnectOptions options = new ConnectOptions().timeout(14).retryCount(6);
        return CHOSEN_GID == null ? options : options.gidIndex(Integer.parseInt(CHOSEN_GID));
    }

    /** Skips the test, visibly, where it changes the lab itself, which is nothing to do to a machine with hardware. */
    static void assumeSoftRoce(String why) {
        assumeTrue(areSoftRoce(), () -> CHOSEN + " is not a device of the lab: " + why);
    }

    /** Skips the test, visibly, when hardware lacks something. Soft-RoCE lacks none of what the tests ask for. */
    static void assumeHas(boolean capability, String what) {
        if (areSoftRoce() && !capability) {
            fail("Soft-RoCE has " + what + ", but it was not found");
        }
        assumeTrue(capability, () -> CHOSEN + " has no " + what);
    }
}
