package org.rdmapanama;

import static org.junit.jupiter.api.Assertions.fail;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.util.List;
import org.rdmapanama.internal.libibverbs.NativeProvider;

/**
 * The devices that the lab tests use: the lab's two Soft-RoCE devices, or, when the environment variable RDMA_DEVICE
 * names one, that one for both sides, with the GID of RDMA_GID_INDEX. It may be {@code soft0}, which needs no lab.
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

    /** Whether the kernel and libibverbs know these devices, as all but those that live in this process. */
    static boolean areNative() {
        return areSoftRoce() || isNative(first());
    }

    static boolean isNative(Device device) {
        return device.providerDevice().provider() instanceof NativeProvider;
    }

    /** Those of all devices that C programs list as well. */
    static List<Device> ofTheKernel() {
        return DeviceList.query().stream().filter(LabDevices::isNative).toList();
    }

    /** Whether nobody else uses these devices, and the tests know what they have. */
    static boolean areOurs() {
        return areSoftRoce() || !areNative();
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

    /** Skips the test, visibly, where it does what is nothing to do to a device that others use or that is not known. */
    static void assumeOurs(String why) {
        assumeTrue(areOurs(), () -> CHOSEN + " is not a device of the lab: " + why);
    }

    /** Skips the test, visibly, where it looks at what only the kernel and C programs can say of a device. */
    static void assumeNative(String what) {
        assumeTrue(areNative(), () -> CHOSEN + " is in this process only: there is no " + what);
    }

    /** Skips the test, visibly, where it waits or looks by file descriptors. */
    static void assumeHasDescriptors() {
        assumeNative("file descriptor");
    }

    /** Skips the test, visibly, where functions of the test take the place of a driver's, which libibverbs calls. */
    static void assumeHasDriver() {
        assumeNative("driver of libibverbs whose functions could be replaced");
    }

    /** Skips the test, visibly, when a device lacks something. Soft-RoCE lacks none of what the tests ask for. */
    static void assumeHas(boolean capability, String what) {
        if (areSoftRoce() && !capability) {
            fail("Soft-RoCE has " + what + ", but it was not found");
        }
        assumeTrue(capability, () -> CHOSEN + " has no " + what);
    }
}
