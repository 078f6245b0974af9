package org.rdmapanama.management;

import java.lang.management.ManagementFactory;
import javax.management.InstanceAlreadyExistsException;
import javax.management.InstanceNotFoundException;
import javax.management.JMException;
import javax.management.ObjectName;

/**
 * Shows what this process does with RDMA to programs that speak JMX, such as {@code jconsole} and {@code bin/rdma top}: as an
 * {@link RdmaMXBean} with the name {@value #NAME}. Nothing is registered unless a program asks for it, by {@link #register} or by
 * the system property {@value #PROPERTY} with the value {@code true}, which counts when the first device is opened.
 *
 * <p>It needs the module {@code java.management}, which this module does not require: an image made by jlink must contain it.
 *
 * <p>Threads: any.
 */
public final class RdmaManagement {
    /** The name of the bean. */
    public static final String NAME = "org.rdmapanama:type=Rdma";

    /** The system property by which the bean is registered. */
    public static final String PROPERTY = "org.rdmapanama.jmx";

    private RdmaManagement() {}

    /**
     * Registers the bean, unless it is there already. It sets the system property {@value #PROPERTY}, by which other processes
     * see that there is a bean.
     *
     * @throws IllegalStateException when the server of the platform refuses it
     */
    public static void register() {
        try {
            ManagementFactory.getPlatformMBeanServer().registerMBean(new RdmaBean(), name());
        } catch (InstanceAlreadyExistsException already) {
            // It shows the same.
        } catch (JMException e) {
            throw new IllegalStateException("cannot register " + NAME + ": " + e.getMessage(), e);
        }
        System.setProperty(PROPERTY, "true");
    }

    /** Removes the bean that {@link #register} has registered. Does nothing if there is none. */
    public static void unregister() {
        System.clearProperty(PROPERTY);
        try {
            ManagementFactory.getPlatformMBeanServer().unregisterMBean(name());
        } catch (InstanceNotFoundException gone) {
            // That is what was wanted.
        } catch (JMException e) {
            throw new IllegalStateException("cannot unregister " + NAME + ": " + e.getMessage(), e);
        }
    }

    private static ObjectName name() throws JMException {
        return new ObjectName(NAME);
    }
}
