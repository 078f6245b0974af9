package org.rdmapanama.samples.top;

import com.sun.tools.attach.AttachNotSupportedException;
import com.sun.tools.attach.VirtualMachine;
import com.sun.tools.attach.VirtualMachineDescriptor;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import javax.management.JMX;
import javax.management.MBeanServerConnection;
import javax.management.MalformedObjectNameException;
import javax.management.ObjectName;
import javax.management.remote.JMXConnector;
import javax.management.remote.JMXConnectorFactory;
import javax.management.remote.JMXServiceURL;
import org.rdmapanama.management.RdmaMXBean;
import org.rdmapanama.management.RdmaManagement;

/**
 * The JVMs of this user on this machine that show what they do with RDMA. Each one is asked once whether it does. That
 * starts the agent for local management in those that do, and a thread for such questions in all of them.
 */
final class WatchedJvms implements AutoCloseable {
    /** How long a JVM that is stopped, for example, holds this up. */
    private static final String ATTACH_MILLIS = "2000";

    private static final ObjectName BEAN = bean();

    /** A process that has the bean. */
    record Watched(long pid, RdmaMXBean bean, JMXConnector connector) {}

    private final Map<Long, Watched> watched = new HashMap<>();

    /** Those that have no bean, cannot be asked, or are gone. */
    private final Set<Long> others = new HashSet<>();

    WatchedJvms() {
        if (System.getProperty("sun.tools.attach.attachTimeout") == null) {
            System.setProperty("sun.tools.attach.attachTimeout", ATTACH_MILLIS);
        }
        // Of each call of a bean. RMI reads it once, when it begins.
        if (System.getProperty("sun.rmi.transport.tcp.responseTimeout") == null) {
            System.setProperty("sun.rmi.transport.tcp.responseTimeout", ATTACH_MILLIS);
        }
    }

    /** Returns those that there are now. */
    List<Watched> find() {
        Set<Long> present = new HashSet<>();
        for (VirtualMachineDescriptor each : VirtualMachine.list()) {
            long pid = Long.parseLong(each.id());
            present.add(pid);
            if (!watched.containsKey(pid) && !others.contains(pid)) {
                ask(each, pid);
            }
        }
        others.retainAll(present);
        watched.keySet().retainAll(present);
        return new ArrayList<>(watched.values());
    }

    private static ObjectName bean() {
        try {
            return new ObjectName(RdmaManagement.NAME);
        } catch (MalformedObjectNameException e) {
            throw new IllegalStateException(e);
        }
    }

    /** Stops watching one that does not answer any more. */
    void forget(Watched gone) {
        watched.remove(gone.pid());
        others.add(gone.pid());
    }

    /** Whether it is of this user, not in a container of its own, and not this process itself. */
    private static boolean isAnother(long pid) {
        Path other = Path.of("/proc", Long.toString(pid));
        Path own = Path.of("/proc/self");
        try {
            return pid != ProcessHandle.current().pid()
                    && Files.getOwner(other).equals(Files.getOwner(own))
                    && Files.readSymbolicLink(other.resolve("ns/pid"))
                            .equals(Files.readSymbolicLink(own.resolve("ns/pid")));
        } catch (IOException gone) {
            return false;
        }
    }

    /** Asks a process whether it has a bean. One that is to have it and has opened no device yet is asked again later. */
    @SuppressWarnings("BanJNDI") // the address is that of a process of the same user, and no name is looked up
    private void ask(VirtualMachineDescriptor descriptor, long pid) {
        if (!isAnother(pid)) {
            others.add(pid);
            return;
        }
        try {
            VirtualMachine machine = VirtualMachine.attach(descriptor);
            try {
                if (Boolean.parseBoolean(machine.getSystemProperties().getProperty(RdmaManagement.PROPERTY))) {
                    watch(pid, JMXConnectorFactory.connect(new JMXServiceURL(machine.startLocalManagementAgent())));
                } else {
                    others.add(pid);
                }
            } finally {
                machine.detach();
            }
        } catch (AttachNotSupportedException | IOException | RuntimeException gone) {
            others.add(pid);
        }
    }

    private void watch(long pid, JMXConnector connector) throws IOException {
        MBeanServerConnection server = connector.getMBeanServerConnection();
        if (server.isRegistered(BEAN)) {
            watched.put(pid, new Watched(pid, JMX.newMXBeanProxy(server, BEAN, RdmaMXBean.class), connector));
        } else {
            connector.close();
        }
    }

    @Override
    public void close() {
        for (Watched each : watched.values()) {
            try {
                each.connector().close();
            } catch (IOException gone) {
                // It has ended.
            }
        }
    }
}
