package main
import ("os";"fmt";"bilevelc/runtime";"bilevelc/codegen";"bilevelc/ir/datafile")
func main(){ m,err:=runtime.CompileFile(os.Args[1]); if err!=nil{panic(err)}
 var p *runtime.Problem
 if len(os.Args)>4 { set,d:=datafile.Load(os.Args[4],nil); if d.HasErrors(){panic(d.Err())}; p,err=m.BindSet(set,runtime.BindOptions{})} else {p,err=m.Bind(runtime.Data{},runtime.BindOptions{})}
 if err!=nil{panic(err)}
 f,g:=p.Programs()
 files,err:=codegen.Source(os.Args[2],p.IR,f,g); if err!=nil{panic(err)}
 os.MkdirAll(os.Args[3],0755)
 for n,b:=range files{ os.WriteFile(os.Args[3]+"/"+n,b,0644)}
 fmt.Println("ok")}
