package org.rdmapanama.internal;

import org.rdmapanama.management.RdmaManagement;

/** Registers the bean for JMX when a device is opened, if the system property asks for it. */
public final class ManagementStart {
    private ManagementStart() {}

    /** A failure is logged only: the program itself does not need the bean. */
    public static void registerIfAsked() {
        if (Boolean.getBoolean(RdmaManagement.PROPERTY)) {
            try {
                RdmaManagement.register();
            } catch (LinkageError missing) {
                Log.LOGGER.warn(
                        "{} is set, but the module java.management is missing; start with --add-modules java.management",
                        RdmaManagement.PROPERTY);
            } catch (IllegalStateException refused) {
                Log.LOGGER.warn("{} is set, but {}", RdmaManagement.PROPERTY, refused.getMessage());
            }
        }
    }
}
