"""The peer protocol over gRPC: enrolment, network maps, signal, flows, proxy logs."""
