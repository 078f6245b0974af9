package org.rdmapanama.internal.provider;

import java.util.Locale;

/**
 * Where a {@link DirectPath} can be. The order of stores that a device needs is not part of the Java memory model. It holds in
 * the code that HotSpot makes for x86-64.
 */
public final class StoreOrder {
    private StoreOrder() {}

    /**
     * Refuses other processors and virtual machines.
     *
     * @param driver the driver of the device, for messages
     * @throws UnsupportedOperationException on another processor or virtual machine
     */
    public static void require(String driver) {
        String machine = System.getProperty("os.arch").toLowerCase(Locale.ROOT);
        if (!machine.equals("amd64") && !machine.equals("x86_64")) {
            throw new UnsupportedOperationException(
                    "the direct path of " + driver + " needs a processor of type x86-64, and this is " + machine);
        }
        String virtualMachine = System.getProperty("java.vm.name");
        if (!virtualMachine.contains("OpenJDK") && !virtualMachine.contains("HotSpot")) {
            throw new UnsupportedOperationException("the direct path of " + driver
                    + " needs HotSpot, the virtual machine of OpenJDK, and this is " + virtualMachine);
        }
    }
}
