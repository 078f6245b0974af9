package org.rdmapanama.management;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.management.ManagementFactory;
import java.util.List;
import javax.management.JMX;
import javax.management.MBeanServer;
import javax.management.ObjectName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.rdmapanama.Context;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.counts.ContextCounts;
import org.rdmapanama.counts.QueuePairCounts;
import org.rdmapanama.queue.QueuePairType;
import org.rdmapanama.testing.Async;
import org.rdmapanama.testing.ConnectedPair;
import org.rdmapanama.testing.LabDevices;

/** What JMX shows, read by another thread than that of the objects. */
@Tag("lab")
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class RdmaManagementLabTest {
    private static final MBeanServer SERVER = ManagementFactory.getPlatformMBeanServer();

    private static RdmaMXBean bean() throws Exception {
        return JMX.newMXBeanProxy(SERVER, new ObjectName(RdmaManagement.NAME), RdmaMXBean.class);
    }

    private static boolean isRegistered() throws Exception {
        return SERVER.isRegistered(new ObjectName(RdmaManagement.NAME));
    }

    @Test
    void shouldShowWhatIsOpen() throws Exception {
        assertFalse(isRegistered(), "nothing is registered that nobody asked for");
        try (ConnectedPair pair = ConnectedPair.of(QueuePairType.RC).shared().open()) {
            RdmaManagement.register();
            try {
                RdmaManagement.register();
                assertEquals("true", System.getProperty(RdmaManagement.PROPERTY));
                pair.a.post(pair.a.request(1, 0, 8).rdmaWrite(pair.b.region.address(), pair.b.region.rkey() ^ 0xff00));
                pair.a.await();
                RdmaMXBean bean = bean();
                ContextCounts open = pair.a.context.counts();
                assertTrue(Async.get(Async.start(bean::getContexts))
                        .contains(new OpenContext(pair.a.context.deviceName(), pair.a.context.driverName(), open)));
                List<OpenQueuePair> pairs = Async.get(Async.start(bean::getQueuePairs));
                OpenQueuePair failed = pairs.stream()
                        .filter(each -> each.name().equals(pair.a.queuePair.toString()))
                        .findFirst()
                        .orElseThrow();
                assertEquals(new QueuePairCounts(1, 0, 1), failed.counts());
                assertTrue(failed.failure().contains("REM_ACCESS_ERR"), failed::toString);
                assertTrue(pairs.contains(
                        new OpenQueuePair(pair.b.queuePair.toString(), new QueuePairCounts(0, 0, 0), null, "")));
                List<PortCount> ports = Async.get(Async.start(bean::getPorts));
                assertEquals(
                        pair.a.context.portCounters(1).keySet(),
                        ports.stream()
                                .filter(each -> each.device().equals(pair.a.context.deviceName()))
                                .findFirst()
                                .orElseThrow()
                                .counters()
                                .keySet());
                pair.a.queuePair.close();
                assertFalse(bean.getQueuePairs().stream()
                        .anyMatch(each -> each.name().equals(failed.name())));
            } finally {
                RdmaManagement.unregister();
            }
        }
        assertFalse(isRegistered());
        RdmaManagement.unregister();
    }

    @Test
    void shouldRegisterWhenTheFirstDeviceIsOpened() throws Exception {
        System.setProperty(RdmaManagement.PROPERTY, "true");
        try (VerbsArena arena = VerbsArena.ofConfined()) {
            Context context = Context.open(arena, LabDevices.first());
            // Other tests may have left some open.
            int open = bean().getContexts().size();
            assertTrue(open >= 1);
            context.close();
            assertTrue(bean().getContexts().size() < open);
        } finally {
            RdmaManagement.unregister();
        }
    }
}
