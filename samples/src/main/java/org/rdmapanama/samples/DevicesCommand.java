package org.rdmapanama.samples;

import java.io.PrintWriter;
import java.util.concurrent.Callable;
import org.rdmapanama.Device;
import org.rdmapanama.DeviceList;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Spec;

/** Lists the RDMA devices, as ibv_devices does. */
@Command(name = "devices", description = "List the RDMA devices of this machine.", sortOptions = false)
final class DevicesCommand implements Callable<Integer> {
    private static final String ROW = "%-16s  %-19s  %-9s  %s%n";

    @Mixin
    CommonOptions common;

    @Spec
    private CommandSpec spec;

    @Override
    public Integer call() {
        PrintWriter out = spec.commandLine().getOut();
        DeviceList devices = DeviceList.query();
        if (devices.isEmpty()) {
            // An empty list is an answer, not a failure.
            out.println("no RDMA devices; 'rdma link add rxe0 type rxe netdev eth0' adds a software device if the"
                    + " kernel has rdma_rxe; or use the lab: bin/lab run bin/rdma devices");
            out.flush();
            return 0;
        }
        out.printf(ROW, "device", "node GUID", "node type", "transport");
        out.printf(ROW, "------", "---------", "---------", "---------");
        for (Device device : devices) {
            out.printf(
                    ROW,
                    device.name(),
                    DeviceReport.guid(device.guid()),
                    device.nodeType(),
                    DeviceReport.transport(device.transportType()));
        }
        out.flush();
        String problem = ChosenDevice.problem(devices);
        if (problem != null) {
            PrintWriter err = spec.commandLine().getErr();
            err.println(spec.qualifiedName() + ": " + problem);
            err.flush();
        }
        return 0;
    }
}
