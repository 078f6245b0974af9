/** Events of the object model for JDK Flight Recorder, one class for each. None is on the data path. */
package org.rdmapanama.internal.events;
