package org.rdmapanama.management;

import java.util.List;

/**
 * What this process does with RDMA, as {@link RdmaManagement} registers it for JMX. Reading it takes no lock that the data path
 * takes, and changes nothing.
 */
public interface RdmaMXBean {
    /** {@return the open contexts, in no fixed order} */
    List<OpenContext> getContexts();

    /** {@return the open queue pairs of all contexts, in no fixed order} */
    List<OpenQueuePair> getQueuePairs();

    /** {@return the servers of the module rdma-cm that listen, in no fixed order} */
    List<OpenServer> getServers();

    /** {@return what the ports of the open devices have counted: each port once, however many contexts there are} */
    List<PortCount> getPorts();
}
