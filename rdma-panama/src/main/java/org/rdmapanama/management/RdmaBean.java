package org.rdmapanama.management;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.rdmapanama.Context;
import org.rdmapanama.QueuePairFailure;
import org.rdmapanama.internal.ObjectModelAccess;
import org.rdmapanama.internal.provider.Observed;

/** Reads what the open objects count. */
final class RdmaBean implements RdmaMXBean {
    @Override
    public List<OpenContext> getContexts() {
        List<OpenContext> all = new ArrayList<>();
        for (Context each : Observed.contexts()) {
            all.add(new OpenContext(each.deviceName(), each.driverName(), each.counts()));
        }
        return all;
    }

    @Override
    public List<OpenQueuePair> getQueuePairs() {
        List<OpenQueuePair> all = new ArrayList<>();
        for (Context each : Observed.contexts()) {
            ObjectModelAccess.get()
                    .queuePairsOf(each)
                    .forEach(queuePair -> all.add(new OpenQueuePair(
                            queuePair.toString(),
                            queuePair.counts(),
                            queuePair.traffic().orElse(null),
                            queuePair.failure().map(QueuePairFailure::toString).orElse(""))));
        }
        return all;
    }

    @Override
    public List<OpenServer> getServers() {
        List<OpenServer> all = new ArrayList<>();
        Observed.servers().forEach((server, counts) -> all.add(new OpenServer(server.toString(), counts)));
        return all;
    }

    @Override
    public List<PortCount> getPorts() {
        List<PortCount> all = new ArrayList<>();
        Set<String> seen = new HashSet<>();
        for (Context each : Observed.contexts()) {
            if (seen.add(each.deviceName())) {
                for (int port = 1; port <= ObjectModelAccess.get().knownPortsOf(each); port++) {
                    all.add(new PortCount(each.deviceName(), port, each.portCounters(port)));
                }
            }
        }
        return all;
    }
}
